import { useEffect, useRef, useState } from 'react'
import type { Destination } from '../../../api/destinations.ts'
import { fetchPreview, type Preview } from '../../../api/rules.ts'
import { useSession } from '../../../api/session.ts'
import { type Latest, latestOnly } from './latest.ts'

/** ms after the last change. */
const DEBOUNCE = 400

/** `rules`: of this preview. `error`: of the latest request. `asked`: its rules. */
type Shown = { key: string; rules: unknown; preview: Preview | undefined; error: unknown; asked: unknown }

const NOTHING: Shown = { key: '', rules: undefined, preview: undefined, error: undefined, asked: undefined }

/** `isCurrent`: for the rules as typed now. */
export type PreviewState = Omit<Shown, 'key'> & { isCurrent: boolean; refresh: () => void }

type Asked = { rules: unknown; isAsked: boolean }

export function usePreview(destination: Destination, { rules = {}, isAsked }: Asked): PreviewState {
  const { id, sourceIds, eventTypes } = destination
  const [shown, setShown] = useState(NOTHING)
  const latest = useRef<Latest<string>>(undefined)
  const key = JSON.stringify({ id, sourceIds, ...(eventTypes && { eventTypes }), rules })

  /** The user may have typed more since the request. */
  const current = useRef(key)
  useEffect(() => {
    current.current = key
  }, [key])

  useEffect(() => {
    const opened = latestOnly<string, Preview>({
      request: (key) => fetchPreview(JSON.parse(key)),
      onAnswer(answer, key) {
        if (key !== current.current) return
        const asked: unknown = JSON.parse(key).rules
        setShown((before) =>
          'value' in answer
            ? { key, asked, rules: asked, preview: answer.value, error: undefined }
            : { ...before, key, asked, error: answer.error },
        )
      },
    })
    latest.current = opened
    return () => {
      opened.close()
      latest.current = undefined
    }
  }, [])

  const isFirst = useRef(true)
  const isSignedOut = useSession().data?.isOver ?? false
  useEffect(() => {
    if (!isAsked || isSignedOut) return
    const ask = () => latest.current?.ask(key)
    const timer = setTimeout(ask, isFirst.current ? 0 : DEBOUNCE)
    isFirst.current = false
    return () => clearTimeout(timer)
  }, [key, isAsked, isSignedOut])

  return { ...shown, isCurrent: shown.key === key, refresh: () => latest.current?.ask(key) }
}
