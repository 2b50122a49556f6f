import { describe, expect, it } from 'vitest'
import { endingText } from '../src/widgets/ending'

describe('how something ended', () => {
  it('an exit code is not said twice', () => {
    expect(endingText({ exit_code: 3, reason: 'it exited with code 3' })).toBe('Exit code 3')
  })

  it('a reason that says more than the numbers is kept', () => {
    const ending = { signal: 9, oom: true, reason: 'the disk was full too' }
    expect(endingText(ending)).toBe('Out of memory · Signal 9 (SIGKILL) · the disk was full too')
    expect(endingText({ reason: 'it exited with code 3' })).toBe('it exited with code 3')
    expect(endingText({})).toBe('')
  })

  it('a cause stands before its evidence, each once', () => {
    expect(endingText({ ending: 'out_of_memory', oom: true, signal: 9 })).toBe(
      'Out of memory · Signal 9 (SIGKILL)',
    )
    expect(endingText({ ending: 'timeout', signal: 15, reason: 'it ran longer than 60 s' })).toBe(
      'Time limit reached · Signal 15 (SIGTERM) · after 1 min 0 s',
    )
    expect(endingText({ ending: 'done', exit_code: 0 })).toBe('Exit code 0')
    expect(endingText({ ending: 'start_failed', reason: 'no such file: trian.py' })).toBe(
      'It could not be started · no such file: trian.py',
    )
  })

  it('what the server says in a known form is said in our words', () => {
    expect(endingText({ ending: 'cancelled', reason: 'cancelled by ada' })).toBe(
      'Cancelled · by ada',
    )
    expect(endingText({ ending: 'outranked', reason: 'for job jabcdefabcdef' })).toBe(
      'A higher priority took its place · for job jabcdefabcdef',
    )
    expect(
      endingText({
        ending: 'unhealthy',
        signal: 15,
        reason: '3 health checks in a row failed: no answer within 5 s',
      }),
    ).toBe(
      'It did not answer its health check · Signal 15 (SIGTERM) · 3 times in a row: no answer within 5 s',
    )
    const late = 'it did not come up within 600 s: connection refused'
    expect(endingText({ ending: 'unhealthy', reason: late })).toBe(
      'It did not answer its health check · not within 10 min 0 s: connection refused',
    )
    const silent = 'nothing was heard of agent rack1 for 600 s'
    expect(endingText({ ending: 'node_lost', reason: silent })).toBe(
      'Its machine was lost · agent rack1, silent for 10 min 0 s',
    )
  })
})
