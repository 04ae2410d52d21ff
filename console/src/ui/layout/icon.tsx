import { Box } from '@mantine/core'

const STROKES = {
  overview: 'M3 12l3-5 4 7 3-9 3 7h2',
  catalog: 'M3 3h6v6H3zM12 3h6v6h-6zM3 12h6v6H3zM15 12v6M12 15h6',
  sources: 'M3 10h9M9 6l4 4-4 4M14 3h4v14h-4',
  destinations: 'M3 3h4v14H3M9 10h9M14 6l4 4-4 4',
  search: 'M9 3a6 6 0 1 0 0 12A6 6 0 0 0 9 3zM13.5 13.5L18 18',
  dead: 'M10 3l8 14H2zM10 8v4M10 14.5v.5',
  lag: 'M10 3a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15zM10 6v4.5l3 2',
  audiences:
    'M7 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 17c0-3 2-5 5-5s5 2 5 5M13 4a3 3 0 0 1 0 5M14 12c2.5.4 4 2.3 4 5',
  audit: 'M5 3h10v14H5zM8 7h4M8 10h4M8 13h2',
  users: 'M10 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 17c0-3.5 3-5.5 7-5.5s7 2 7 5.5',
  traits: 'M3 4h8l7 7-6.5 6.5L4 10zM7 7.5v.1',
  check: 'M4 10.5l4 4 8-9',
  copy: 'M7 7h10v10H7zM4 13H3V3h10v1',
  plus: 'M10 4v12M4 10h12',
  cross: 'M5 5l10 10M15 5L5 15',
  light:
    'M10 6a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 1v2M10 17v2M1 10h2M17 10h2M4 4l1.2 1.2M14.8 14.8L16 16M16 4l-1.2 1.2M4 16l1.2-1.2',
  dark: 'M16 12.5A7 7 0 0 1 7.5 4 7 7 0 1 0 16 12.5z',
  out: 'M8 3H3v14h5M8 10h10M14 6l4 4-4 4',
  down: 'M5 8l5 5 5-5',
  key: 'M7 9a4 4 0 1 0 0 6 4 4 0 0 0 0-6M8 11l8-7M13 6.5l2.5 2.5',
} as const

export type IconName = keyof typeof STROKES

/** Hidden from screen readers, which read the text beside it. */
export function Icon({ of, size = 18 }: { of: IconName; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={STROKES[of]} />
    </svg>
  )
}

export const Chevron = ({ isOpened }: { isOpened: boolean }) => (
  <Box pt={4} c="dimmed" style={{ transform: isOpened ? 'rotate(180deg)' : 'none', display: 'flex' }}>
    <Icon of="down" size={16} />
  </Box>
)

export function Logo({ size = 28 }: { size?: number }) {
  return (
    <svg aria-hidden="true" viewBox="0 0 32 32" width={size} height={size}>
      <rect width="32" height="32" rx="8" fill="#0c6f7c" />
      <path
        d="M7 11c3-3 6-3 9 0s6 3 9 0M7 17c3-3 6-3 9 0s6 3 9 0M7 23c3-3 6-3 9 0s6 3 9 0"
        fill="none"
        stroke="#fff"
        strokeWidth="2.6"
        strokeLinecap="round"
      />
    </svg>
  )
}
