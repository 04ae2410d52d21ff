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
