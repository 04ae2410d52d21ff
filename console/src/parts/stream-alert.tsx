import { Alert } from '@mantine/core'
import type { Freshness } from '../api/heard.ts'
import { whyOld } from './freshness.ts'
import { When } from './when.tsx'

/** That what is shown is not of now, and why; nothing for as long as a break is short. */
export function StreamAlert({ freshness }: { freshness: Freshness }) {
  const why = whyOld(freshness)
  if (!why) return null
  return (
    <Alert color="red" role="alert" title={why.title}>
      {why.says}{' '}
      {freshness.toldAt !== undefined && (
        <>
          What is shown is of <When at={freshness.toldAt} short />.
        </>
      )}
    </Alert>
  )
}
