import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commandText, fileText, optionsOf } from '../src/features/launch/command'
import { build, EMPTY, type Form, fieldOf } from '../src/features/launch/form'
import {
  quoteWord,
  readSize,
  readTime,
  splitWords,
  writeSize,
  writeTime,
} from '../src/features/launch/words'

const form: Form = { ...EMPTY, project: 'vision', command: "python train.py --name 'a b'" }

describe('words of a command line', () => {
  it('are split as a shell does, and quoted back', () => {
    expect(splitWords(`a 'b c' "d \\"e\\"" f\\ g ''`)).toEqual(['a', 'b c', 'd "e"', 'f g', ''])
    for (const word of ['plain', 'two words', "it's", '', '$HOME', 'a=b'])
      expect(splitWords(quoteWord(word))).toEqual([word])
    expect(() => splitWords("a 'b")).toThrow('A quote is not closed.')
  })

  it('sizes and times are read and written', () => {
    expect([readSize('8G'), readSize('512M'), readSize('')]).toEqual([2 ** 33, 2 ** 29, undefined])
    expect([readTime('90m'), readTime('2d'), readTime('45')]).toEqual([5400, 172_800, 45])
    expect([writeSize(2 ** 33), writeSize(1536), writeSize(7)]).toEqual(['8G', '1536', '7'])
    expect([writeTime(5400), writeTime(172_800), writeTime(61)]).toEqual(['90m', '2d', '61s'])
    for (const bad of ['8X', 'many', '-1G']) expect(() => readSize(bad)).toThrow('Not a size')
    for (const bad of ['0', '2w', '-5m', '400d']) expect(() => readTime(bad)).toThrow('Not a time')
  })
})

describe('the launch form', () => {
  it('makes a job of what is written and nothing of what is not', () => {
    expect(build(form)).toEqual({
      faults: {},
      body: { spec: { command: ['python', 'train.py', '--name', 'a b'] } },
    })
    const whole = build({
      ...form,
      config: 'lr=0.1\nname=adam\nlayers=[64, 32]',
      env: 'A=b=c',
      secrets: 'TOKEN=HF_TOKEN',
      gpus: '8',
      memory: '64G',
      nodes: '2',
      targets: [
        { target: 'spot', wait: '10m' },
        { target: 'rack-a', wait: '' },
      ],
      queue: 'night',
      timeout: '8h',
      priority: '-5',
      held: true,
    })
    expect(whole.faults).toEqual({})
    expect(whole.body).toEqual({
      queue: 'night',
      priority: -5,
      held: true,
      spec: {
        command: ['python', 'train.py', '--name', 'a b'],
        config: { lr: 0.1, name: 'adam', layers: [64, 32] },
        env: { A: 'b=c' },
        secrets: { TOKEN: 'HF_TOKEN' },
        gpus: 8,
        memory_bytes: 2 ** 36,
        nodes: 2,
        targets: [{ target: 'spot', wait_s: 600 }, { target: 'rack-a' }],
        timeout_s: 28_800,
      },
    })
  })

  it('makes arrays, what comes after others, services and data', () => {
    const job = 'jaaaaaaaaaaaa'
    const { body, faults } = build({
      ...form,
      array: '0-99:5%10',
      after: `${job}\njbbbbbbbbbbbb:any\n`,
      volumes: 'data:/data:ro\nout:/out',
      buckets: 'models, logs',
      kind: 'service',
      replicas: '3',
      health: '8000/up',
      launcher: 'torchrun',
      nodes: '2',
      rest: { shm_bytes: 2 ** 30, health: { port: 1, every_s: 5 }, exclude: ['rack1'] },
    })
    expect(faults).toEqual({})
    expect(body).toEqual({
      array: { from: 0, to: 99, step: 5, limit: 10 },
      after: [{ job }, { job: 'jbbbbbbbbbbbb', any: true }],
      spec: {
        command: ['python', 'train.py', '--name', 'a b'],
        nodes: 2,
        launcher: 'torchrun',
        volumes: [
          { name: 'data', path: '/data', read_only: true },
          { name: 'out', path: '/out' },
        ],
        buckets: ['models', 'logs'],
        kind: 'service',
        replicas: 3,
        health: { port: 8000, path: '/up', every_s: 5 },
        shm_bytes: 2 ** 30,
        exclude: ['rack1'],
      },
    })
    const wrong = build({
      ...form,
      array: '5',
      after: 'job1',
      volumes: 'data',
      kind: 'service',
      replicas: '0',
      health: 'up',
    }).faults
    expect(wrong).toEqual({
      array: 'Write FROM-TO, FROM-TO:STEP or FROM-TO%LIMIT.',
      after: 'Line 1: job1 is not the id of a job.',
      volumes: 'Line 1 is not NAME:PATH or NAME:PATH:ro.',
      replicas: 'A whole number from 1 to 1000.',
      health: 'Write PORT or PORT/PATH.',
    })
    expect(
      ['array', 'after', 'spec.volumes', 'spec.buckets', 'spec.health.port', 'spec.replicas'].map(
        fieldOf,
      ),
    ).toEqual(['array', 'after', 'volumes', 'buckets', 'health', 'replicas'])
  })

  it('says what is wrong, and in which field', () => {
    const { faults } = build({ ...form, gpus: '2000', env: 'A=1\n2B=3', timeout: 'soon' })
    expect(faults).toEqual({
      gpus: 'A whole number from 0 to 1024.',
      env: 'Line 2: 2B is not a name.',
      timeout: 'Not a time: write 90m, 8h or 2d.',
    })
    expect(Object.keys(build(EMPTY).faults)).toEqual(['project', 'command'])
    expect([fieldOf('spec.memory_bytes'), fieldOf('spec.env.A'), fieldOf('run')]).toEqual([
      'memory',
      'env',
      null,
    ])
  })

  it('is the same as a command line and as a file', () => {
    const written = { ...form, gpus: '2', config: 'lr=0.1', timeout: '90m', held: true }
    const { body } = build(written)
    if (!body) throw new Error('no job')
    expect(commandText(written, body)).toBe(
      [
        'euvyra launch',
        '    --project vision',
        '    --gpus 2',
        '    --timeout 90m',
        '    --config lr=0.1',
        '    --held',
        '    --no-code',
        "    -- python train.py --name 'a b'",
      ].join(' \\\n'),
    )
    expect(fileText(written, body)).toBe(
      [
        '# euvyra launch -f job.yaml --project vision --no-code',
        'held: true',
        'spec:',
        '  command: [python, train.py, "--name", "a b"]',
        '  config:',
        '    lr: 0.1',
        '  gpus: 2',
        '  timeout_s: 5400',
      ].join('\n'),
    )
  })

  it('uses options that the command line has', () => {
    const table = readFileSync(new URL('../../src/cli/verbs.c', import.meta.url), 'utf8')
    const options = /launch_options\[\] = \{([\s\S]*?)\n\};/.exec(table)?.[1] ?? ''
    const known = new Set([...options.matchAll(/"([a-z-]+)", /g)].map((match) => match[1]))
    known.add('project')
    const filled = build({
      ...form,
      image: 'x',
      gpuType: 'H100',
      nodes: '2',
      queue: 'night',
      retryFailed: true,
      secrets: 'A=B',
      targets: [{ target: 'spot', wait: '' }],
      array: '0-9%2',
      after: 'jaaaaaaaaaaaa',
      volumes: 'a:/a',
      buckets: 'b',
      kind: 'service',
      replicas: '2',
      health: '80',
      launcher: 'torchrun',
      rest: {
        ...{ shm_bytes: 1, disk_bytes: 1, pids: 1, read_only_root: true, registry: 'R' },
        ...{ gpu_memory_bytes: 1, grace_s: 5, exclude: ['rack1'] },
        health: { port: 1, every_s: 30, timeout_s: 2, failures: 5, starts_within_s: 60 },
      },
    }).body
    if (!filled) throw new Error('no job')
    const missing = optionsOf(form, filled).filter((one) => !known.has(one.flag))
    expect(missing.map((one) => one.flag)).toEqual([])
  })
})
