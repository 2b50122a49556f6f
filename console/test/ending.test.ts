import { describe, expect, it } from 'vitest'
import { endingText } from '../src/widgets/ending'

describe('how something ended', () => {
  it('an exit code is not said twice', () => {
    expect(endingText({ exit_code: 3, reason: 'it exited with code 3' })).toBe('Exit code 3')
  })

  it('a reason that says more than the numbers is kept', () => {
    const ending = { signal: 9, oom: true, reason: 'the kernel killed it for memory' }
    expect(endingText(ending)).toBe('Out of memory · Signal 9 · the kernel killed it for memory')
    expect(endingText({ reason: 'it exited with code 3' })).toBe('it exited with code 3')
    expect(endingText({})).toBe('')
  })
})
