const WHOLE = new Intl.NumberFormat(undefined)
const RATE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })

export const whole = (count: number): string => WHOLE.format(count)

/** Of things a second or a minute. */
export const rate = (value: number): string => RATE.format(value)

/** "1 URL", "2 URLs". */
export const counted = (count: number, one: string, more = `${one}s`): string =>
  `${whole(count)} ${count === 1 ? one : more}`
