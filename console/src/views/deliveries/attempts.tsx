import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { Fate } from '../../api/search.ts'
import { AttemptTable } from '../../parts/attempt-table.tsx'
import type { Urls } from '../../parts/attempt-url.ts'
import { counted } from '../../parts/number.ts'

const SHOWN = 3

/** The last attempts, without the times that it was put off; and all of them, for who wants to see. */
export function Attempts({ attempts, urls }: { attempts: Fate['attempts']; urls: Urls | undefined }) {
  const [isAll, { toggle }] = useDisclosure()
  if (attempts.length === 0) return null
  const made = attempts.filter(({ outcome }) => outcome !== 'deferred')
  const last = made.slice(-SHOWN)
  const putOff = attempts.length - made.length
  return (
    <>
      {(isAll || last.length > 0) && <AttemptTable attempts={isAll ? attempts : last} urls={urls} />}
      {last.length < attempts.length && (
        <Text size="sm" c="dimmed" mt={4}>
          {counted(made.length, 'attempt')}
          {putOff > 0 && `, and put off ${counted(putOff, 'time')} as the endpoint could not take it`}.{' '}
          <Button variant="subtle" size="compact-xs" onClick={toggle} aria-expanded={isAll}>
            {isAll ? 'Show fewer' : 'Show all'}
          </Button>
        </Text>
      )}
    </>
  )
}
