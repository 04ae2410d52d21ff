import { Table, type TableProps, type TableThProps } from '@mantine/core'
import type { ReactNode } from 'react'

type Head = { label: string } & Pick<TableThProps, 'ta' | 'miw'>

type DataTableProps = Pick<TableProps, 'fz' | 'verticalSpacing' | 'highlightOnHover'> & {
  /** For screen readers. */
  label: string
  /** In pixels; narrower screens scroll sideways. */
  minWidth: number
  heads: readonly (string | Head)[]
  children: ReactNode
}

export const DataTable = ({ label, minWidth, heads, children, ...look }: DataTableProps) => (
  <Table.ScrollContainer minWidth={minWidth} scrollAreaProps={{ 'aria-label': label }}>
    <Table verticalSpacing="sm" {...look}>
      <Table.Thead>
        <Table.Tr>
          {heads.map(headOf).map(({ label, ...look }) => (
            <Table.Th key={label} {...look}>
              {label}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  </Table.ScrollContainer>
)

const headOf = (head: string | Head): Head => (typeof head === 'string' ? { label: head } : head)

export const numberHead = (label: string): Head => ({ label, ta: 'right' })
