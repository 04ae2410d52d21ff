import type { TestResult } from '../../api/destinations.ts'

const message = (start: string, headers: Record<string, string>, body: string): string =>
  [start, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body].join('\n')

/** The request as HTTP writes it. */
export function requestText({ url, request: { headers, body } }: TestResult): string {
  const { pathname = '/', search = '' } = URL.parse(url) ?? {}
  return message(`POST ${pathname}${search} HTTP/1.1`, headers, body)
}

/** The response as HTTP writes it, or nothing without one. */
export const responseText = ({ status, responseHeaders, response }: TestResult): string =>
  responseHeaders === null ? '' : message(`HTTP/1.1 ${status ?? ''}`.trim(), responseHeaders, response ?? '')
