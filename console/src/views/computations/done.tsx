import { Alert } from '@mantine/core'
import type { Sync } from '../../api/computations.ts'
import { whole } from '../../parts/number.ts'

/** What came of an upload. */
export function Done({
  sync: { state, lines, changed, removed, unchanged, suppressed, cause },
}: {
  sync: Sync
}) {
  if (state === 'failed' || state === 'cancelled')
    return (
      <Alert color="red" title={state === 'failed' ? 'It failed' : 'It was cancelled'}>
        {cause?.message ??
          'Calls about some users may have been sent by then; the next upload sends those about the others.'}
      </Alert>
    )
  if (state !== 'done')
    return (
      <Alert color="blue" title="Taken">
        It goes on by itself; “Last sync” says when it is over.
      </Alert>
    )
  return (
    <Alert color="green" title={`Compared ${whole(lines)} users with the last upload`}>
      Identify calls were sent about {whole(changed ?? 0)} users who are new or changed, and{' '}
      {whole(removed ?? 0)} who are gone. {whole(unchanged ?? 0)} are as they were
      {suppressed ? `; nothing is sent about ${whole(suppressed)}, who are suppressed` : ''}.
    </Alert>
  )
}
