import { Box, Button, Code, CopyButton, Group } from '@mantine/core'
import { Icon } from './icon.tsx'

/** Copies a text, and says that it did. @param what for screen readers: which of the texts on the page. */
export function Copy({ text, what }: { text: string; what: string }) {
  return (
    <CopyButton value={text} timeout={2_000}>
      {({ copied, copy }) => (
        <Button
          size="compact-sm"
          variant={copied ? 'light' : 'default'}
          color={copied ? 'green' : 'gray'}
          leftSection={<Icon of={copied ? 'check' : 'copy'} size={14} />}
          onClick={copy}
          aria-label={copied ? `${what} copied` : `Copy ${what}`}
        >
          {copied ? 'Copied' : 'Copy'}
        </Button>
      )}
    </CopyButton>
  )
}

/** Code that can be copied as it is. */
export function Snippet({ code, what }: { code: string; what: string }) {
  return (
    <Box>
      <Code block fz="sm" tabIndex={0} aria-label={what} className="in-flow">
        {code}
      </Code>
      <Group justify="flex-end" mt={6}>
        <Copy text={code} what={what} />
      </Group>
    </Box>
  )
}
