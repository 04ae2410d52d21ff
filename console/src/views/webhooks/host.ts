/** What is behind the host may hold a secret, and is long. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)
