export type Line = {
  label: string
  color: 'green' | 'yellow' | 'red' | 'blue' | 'gray' | 'grape' | 'water' | 'orange'
  values: readonly (number | null)[]
}

export type ChartParts = {
  /** What is shown, for who does not see it. */
  label: string
  /** ISO 8601, ascending; each line has a value for each. */
  times: readonly string[]
  lines: readonly Line[]
  /** A value in its unit. */
  format: (value: number) => string
}
