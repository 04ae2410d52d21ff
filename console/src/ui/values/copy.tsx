import { Button } from '@mantine/core'
import { useState } from 'react'
import { Icon } from '../layout/icon.tsx'

type State = 'idle' | 'copied' | 'failed'

const SHOWN = {
  idle: { label: 'Copy', color: 'gray', icon: 'copy' },
  copied: { label: 'Copied', color: 'green', icon: 'check' },
  failed: { label: 'Not copied: select it', color: 'red', icon: 'cross' },
} as const

const SHOWN_MS = 2_000

/** Copies a text, and says whether it did. @param what for screen readers: which of the texts on the page. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [state, setState] = useState<State>('idle')
  const { label, color, icon } = SHOWN[state]
  async function copy() {
    setState((await copyText(text)) ? 'copied' : 'failed')
    setTimeout(() => setState('idle'), SHOWN_MS)
  }
  return (
    <Button
      size="compact-sm"
      variant={state === 'idle' ? 'default' : 'light'}
      color={color}
      leftSection={<Icon of={icon} size={14} />}
      onClick={() => void copy()}
      aria-label={state === 'idle' ? `Copy ${what}` : `${label}: ${what}`}
    >
      {label}
    </Button>
  )
}

/** Into the clipboard, which pages without https have by the old way alone. @returns whether it is there. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text)
  }
}

function copySelected(text: string): boolean {
  const before = document.activeElement
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'unseen'
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  if (before instanceof HTMLElement) before.focus()
  return isCopied
}
