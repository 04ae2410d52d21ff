import { Fragment, type ReactNode } from 'react'

/** A URL or its host. It breaks before a part of its path or query, and never inside its port. */
export function Url({ children: url }: { children: string }) {
  // the first slashes belong to the scheme
  const parts = url.split(/(?<![:/])(?=[/?&])/)
  return (
    <span className="in-flow">
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text, in a fixed order
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {index === 0 ? withWholePorts(part) : part}
        </Fragment>
      ))}
    </span>
  )
}

const PORT = /(?<=[\w\]])(:\d{2,5})(?![\w:])/

/** Text that breaks anywhere except inside the ports of its URLs. */
export const withWholePorts = (text: string): ReactNode[] =>
  text.split(PORT).map((part, index) =>
    // the pattern's group is every second part
    index % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text, in a fixed order
      <span key={index} className="time">
        {part}
      </span>
    ),
  )
