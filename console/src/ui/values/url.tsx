import { Fragment, type ReactNode } from 'react'
import { visible } from '../../wording/visible.ts'

/** A URL or host. Breaks before parts of the path or query, never inside the port. */
export function Url({ children: url }: { children: string }) {
  // the scheme's slashes do not count
  const parts = visible(url).split(/(?<![:/])(?=[/?&])/)
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

/** Breaks anywhere except inside ports of URLs. */
export const withWholePorts = (text: string): ReactNode[] =>
  visible(text)
    .split(PORT)
    .map((part, index) =>
      // every second part is the pattern's group
      index % 2 === 0 ? (
        part
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text, in a fixed order
        <span key={index} className="time">
          {part}
        </span>
      ),
    )
