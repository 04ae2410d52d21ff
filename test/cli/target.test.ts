import { describe, expect, test } from 'vitest'
import { chooseTarget, type Known } from '../../cli/target.ts'

const local = { control: 'http://127.0.0.1:8081', ingest: 'http://127.0.0.1:8080', token: 'local-token' }
const nothing: Known = { url: undefined, ingestUrl: undefined, token: undefined, local: undefined }
const choose = (known: Partial<Known>) => chooseTarget({ ...nothing, ...known })

describe('the target system', () => {
  test('is the local one if no other is named', () => {
    expect(choose({ local })).toEqual(local)
    expect(choose({ local, token: 'given' })).toMatchObject({ control: local.control, token: 'given' })
  })

  test('is the named one', () => {
    const url = 'https://sluice.example:8081/prefix/'
    expect(choose({ url, token: 'given', ingestUrl: 'https://in.example/', local })).toEqual({
      control: 'https://sluice.example:8081/prefix',
      token: 'given',
      ingest: 'https://in.example',
    })
  })

  test('never gets the local token unless it is the local one', () => {
    expect(() => choose({ url: 'https://sluice.example', local })).toThrow(
      /No token for https:\/\/sluice.example/,
    )
  })

  test('is asked for if none is known', () => {
    expect(() => choose({ token: 'given' })).toThrow(/set SLUICE_URL or --url/)
  })

  test.each(['sluice.example', 'ftp://sluice.example', ''])('cannot be at %j', (url) => {
    expect(() => choose({ url, token: 'given' })).toThrow(/is not an address/)
  })
})
