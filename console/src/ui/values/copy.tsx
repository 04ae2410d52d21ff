import { Button } from '@mantine/core'
import { useState } from 'react'
import { Icon } from '../layout/icon.tsx'

type CopyState = 'idle' | 'copied' | 'failed'

const STATES = {
  idle: { label: 'Copy', color: 'gray', icon: 'copy' },
  copied: { label: 'Copied', color: 'green', icon: 'check' },
  failed: { label: 'Copy failed', color: 'red', icon: 'cross' },
} as const

const RESET_MS = 2_000

/** @param what for screen readers, such as "write key of Shop". */
export function Copy({ text, what }: { text: string; what: string }) {
  const [state, setState] = useState<CopyState>('idle')
  const { label, color, icon } = STATES[state]
  async function copy() {
    setState((await copyText(text)) ? 'copied' : 'failed')
    setTimeout(() => setState('idle'), RESET_MS)
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

/** Pages without https have no clipboard API: falls back to the old copy command. @returns whether it worked. */
async function copyText(text: string): Promise<boolean> {
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
