type Closable = { close(): Promise<void> }

/** Something that is there only while it is used. */
export type WhileUsed<T> = {
  /** Each use is to be released, also when this throws. @throws when it cannot be opened. */
  use(): Promise<T>
  release(): void
  /** The next use opens it anew. */
  close(): Promise<void>
}

/** @param lingerMs for so long it stays open after the last use. */
export function whileUsed<T extends Closable>(open: () => Promise<T>, lingerMs: number): WhileUsed<T> {
  let uses = 0
  let opened: Promise<T> | undefined
  let lingering: NodeJS.Timeout | undefined

  async function close(): Promise<void> {
    clearTimeout(lingering)
    const closing = opened
    opened = undefined
    // who was to use it has been told that it cannot be opened
    await (await closing?.catch(() => undefined))?.close()
  }

  function openNow(): Promise<T> {
    const opening = open()
    opening.catch(() => {
      if (opened === opening) opened = undefined
    })
    return opening
  }

  return {
    use() {
      uses += 1
      clearTimeout(lingering)
      opened ??= openNow()
      return opened
    },
    release() {
      uses -= 1
      if (uses === 0) lingering = setTimeout(() => void close(), lingerMs)
    },
    close,
  }
}
