import type { CSSVariablesResolver } from '@mantine/core'

const COLORS = ['water', 'green', 'red', 'yellow', 'orange', 'blue', 'gray', 'grape']

/** Text that the library leaves paler than WCAG AA wants (4.5 : 1) on white, on a panel and on a light badge. */
export const variables: CSSVariablesResolver = ({ colors }) => {
  const shade = (color: string, index: number) => colors[color]?.[index] ?? ''
  const text = (index: number) =>
    Object.fromEntries(COLORS.map((color) => [`--mantine-color-${color}-light-color`, shade(color, index)]))
  return {
    variables: {},
    light: {
      ...text(9),
      '--mantine-color-green-light-color': '#17602a',
      '--mantine-color-yellow-light-color': '#7a4a00',
      '--mantine-color-orange-light-color': '#9a3412',
      '--mantine-color-dimmed': '#566069',
      '--mantine-color-placeholder': '#6b747c',
      '--mantine-color-error': '#c02626',
      '--mantine-color-anchor': shade('water', 8),
      '--sluice-panel': '#f7f9fa',
      '--sluice-line': '#e3e8eb',
    },
    dark: {
      ...text(3),
      '--mantine-color-dimmed': '#a9b1b8',
      '--mantine-color-placeholder': '#969ea5',
      '--mantine-color-error': '#ff8787',
      '--mantine-color-anchor': shade('water', 3),
      '--sluice-panel': '#1f2226',
      '--sluice-line': '#373b40',
    },
  }
}
