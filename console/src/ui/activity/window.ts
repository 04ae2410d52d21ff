import { useSearchParams } from 'wouter'
import type { Window } from '../../api/activity.ts'

/** `bucket`: what one value of a chart stands for. */
export const WINDOWS: Record<Window, { title: string; inText: string; bucket: string }> = {
  '1h': { title: 'Last hour', inText: 'in the last hour', bucket: 'minute' },
  '24h': { title: 'Last 24 hours', inText: 'in the last 24 hours', bucket: 'half hour' },
}

export function useWindow(): [Window, (window: Window) => void] {
  const [params, setParams] = useSearchParams()
  return [
    windowFromParams(params),
    (window) => setParams((before) => ({ ...Object.fromEntries(before), window }), { replace: true }),
  ]
}

export const windowFromParams = (params: URLSearchParams): Window =>
  params.get('window') === '24h' ? '24h' : '1h'

export const windowQuery = (window: Window) => (window === '1h' ? '' : `?window=${window}`)
