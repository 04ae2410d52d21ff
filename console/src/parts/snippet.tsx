import { Box, Code, Group } from '@mantine/core'
import { Copy } from './copy.tsx'

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
