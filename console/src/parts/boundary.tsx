import { Alert, Button, Text } from '@mantine/core'
import { Component, type ReactNode } from 'react'

type BoundaryParts = { path: string; children: ReactNode }

/** What a view cannot do takes no other part of the page with it. Another path is tried anew. */
export class Boundary extends Component<BoundaryParts, { error: unknown }> {
  override state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override componentDidUpdate({ path }: BoundaryParts): void {
    if (path !== this.props.path && this.state.error !== undefined) this.setState({ error: undefined })
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <Alert color="red" role="alert" title="This page cannot be shown" maw={720}>
        <Text size="sm" mb="xs">
          Sluice may have been updated since the page was loaded: load it anew. If that does not help, this is
          a fault of the console: {error instanceof Error ? error.message : String(error)}
        </Text>
        <Button size="xs" variant="default" onClick={() => window.location.reload()}>
          Load anew
        </Button>
      </Alert>
    )
  }
}
