/** Why single sign-on did not sign the person in (control/api/auth/single-sign-on.ts). */
const FAILURES = {
  expired: 'The sign-in took too long, or began in another tab. Try again.',
  cancelled: 'The identity provider did not sign you in. Try again, or ask your administrator.',
  not_allowed: 'Your account may not use Sluice. Ask your administrator for access.',
  failed:
    'The identity provider could not be reached, or its answer was not valid. Try again in a minute. See the log of control for the reason.',
} as const

/** @param hash such as `#sign-in-error=expired` */
export function signOnFailure(hash: string): string | undefined {
  const code = new URLSearchParams(hash.slice(1)).get('sign-in-error') ?? ''
  return Object.hasOwn(FAILURES, code) ? FAILURES[code as keyof typeof FAILURES] : undefined
}

type Page = { querySelector(selector: string): { getAttribute(name: string): string | null } | null }

/** Where single sign-on begins. @returns undefined if it is not configured. */
export function signOnUrl(page: Page | undefined): string | undefined {
  const url = page?.querySelector('meta[name="sluice-single-sign-on"]')?.getAttribute('content')
  // in development, a placeholder
  return url?.startsWith('http') ? url : undefined
}

export const SIGN_ON_URL: string | undefined = signOnUrl((globalThis as { document?: Page }).document)

/** @param page to show afterwards, with its query. Left out if control would refuse it. */
export const returningTo = (url: string, page: string): string =>
  page.length <= 1_000 && /^\/(?![/\\])[!-~]*$/.test(page)
    ? `${url}?returnTo=${encodeURIComponent(page)}`
    : url
