import { createTheme, type MantineColorsTuple } from '@mantine/core'

/** The brand's colour, from light to dark. */
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

/** Fonts are the system's: nothing is loaded for them. */
export const theme = createTheme({
  colors: { water },
  primaryColor: 'water',
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  headings: { fontWeight: '650' },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
})
