import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { asDiskFull, requireFreeSpace } from '../../local/errors.ts'

test.each(['ENOSPC', 'EDQUOT'])('a write that fails with %s becomes disk_full, with advice', (code) => {
  const cause = Object.assign(new Error('no space left on device, write'), { code })
  expect(asDiskFull(cause, '/data/sluice')).toMatchObject({
    code: 'disk_full',
    message: expect.stringMatching(
      /^The disk of \/data\/sluice is full\..*\n.*SLUICE_DATA.*SluiceStorageFull/,
    ),
    cause,
  })
})

test('any other error stays unchanged', () => {
  const other = Object.assign(new Error('no'), { code: 'EACCES' })
  for (const error of [other, new Error('no code'), 'no error at all'])
    expect(asDiskFull(error, '/data')).toBe(error)
})

test('a disk with free space is accepted', async () => {
  await expect(requireFreeSpace(tmpdir())).resolves.toBeUndefined()
})
