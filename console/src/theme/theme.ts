import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

const water: MantineColorsTuple = [
  '#e6f8fa',
  '#d3edf0',
  '#a6dae1',
  '#76c6d1',
  '#50b6c3',
  '#37abba',
  '#1f94a3',
  '#0c7785',
  '#0c6470',
  '#064f59',
]

/** System fonts: nothing to download. */
export const theme = createTheme({
  colors: { water },
  primaryColor: 'water',
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  // wide tables show a scroll bar, also on touch screens
  components: { ScrollArea: { defaultProps: { type: 'auto' } } },
  headings: { fontWeight: '650' },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
})

const COLORS = ['water', 'green', 'red', 'yellow', 'orange', 'blue', 'gray', 'grape']

/** Darkens pale text to WCAG AA (4.5 : 1) on white, panels and light badges. */
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
      // these also differ in brightness
      '--sluice-delivered': shade('green', 8),
      '--sluice-failed': '#7a1010',
    },
    dark: {
      ...text(3),
      '--mantine-color-dimmed': '#a9b1b8',
      '--mantine-color-placeholder': '#969ea5',
      '--mantine-color-error': '#ff8787',
      '--mantine-color-anchor': shade('water', 3),
      '--sluice-panel': '#1f2226',
      '--sluice-line': '#373b40',
      '--sluice-delivered': shade('green', 9),
      '--sluice-failed': shade('red', 2),
    },
  }
}
