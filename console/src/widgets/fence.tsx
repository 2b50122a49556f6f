import { Component, type ReactNode } from 'react'
import { Failure } from './empty'

interface Props {
  at: string // where one is: going elsewhere tries anew
  children: ReactNode
}

/**
 * Keeps what breaks in one page from taking the rest along: a fault of ours, or a part that cannot
 * be fetched because the server is away or was replaced by a newer one.
 */
export class Fence extends Component<Props, { error: Error | null }> {
  override state = { error: null }

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override componentDidUpdate(before: Props): void {
    if (this.state.error && before.at !== this.props.at) this.setState({ error: null })
  }

  override render(): ReactNode {
    const { error } = this.state
    return error ? (
      <Failure error={error} whole onRetry={() => location.reload()} />
    ) : (
      this.props.children
    )
  }
}
