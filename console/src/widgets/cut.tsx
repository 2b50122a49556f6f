import type { ReactElement } from 'react'

const TAIL = 10

/**
 * A name that gives way in its middle when there is no room: long names differ at the end. What is
 * read, copied and heard is the whole name; its two ends are only painted over it, because two
 * pieces of text side by side would be two words.
 */
export function Cut({ text }: { text: string }): ReactElement {
  const at = Math.max(0, text.length - TAIL)
  return (
    <span className="cut" title={text}>
      <span className="visually-hidden">{text}</span>
      <span className="cut-head" aria-hidden="true" data-text={text.slice(0, at)} />
      <span className="cut-tail" aria-hidden="true" data-text={text.slice(at)} />
    </span>
  )
}
