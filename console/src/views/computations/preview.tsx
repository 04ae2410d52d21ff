import { Alert, List, Text } from '@mantine/core'
import type { Kind, Preview } from '../../api/computations.ts'
import { formatInteger, pluralize } from '../../wording/format.ts'
import { FORMATS, type Format, requiredBy, summaryOf } from './upload-rules.ts'

type PreviewProps = { kind: Kind; format: Format; preview: Preview }

export function PreviewResult({ kind, format, preview }: PreviewProps) {
  const { removed, current, unchanged, suppressed, invalid, invalidLines } = preview
  const isSerious = requiredBy(preview).length > 0
  return (
    <Alert color={isSerious ? 'yellow' : 'blue'} title={summaryOf(kind, preview)}>
      <Text size="sm">
        Read as {FORMATS[format].label}. {removed > 0 && `${formatInteger(current)} before. `}
        {formatInteger(unchanged)} unchanged. Nothing has been sent yet.
        {suppressed > 0 && ` Nothing will be sent for ${pluralize(suppressed, 'suppressed user')}.`}
      </Text>
      {invalid > 0 && (
        <List size="sm" mt={4}>
          {invalidLines.map(({ line, message }) => (
            <List.Item key={line} className="wraps">
              Line {formatInteger(line)} {message}
            </List.Item>
          ))}
          {invalid > invalidLines.length && (
            <List.Item>and {formatInteger(invalid - invalidLines.length)} more</List.Item>
          )}
        </List>
      )}
    </Alert>
  )
}
