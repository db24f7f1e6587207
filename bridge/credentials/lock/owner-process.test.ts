import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ownProcessMark, stateOfProcess } from './owner-process.ts'

const own = (): string[] => ownProcessMark()?.split(' ') ?? []

describe.skipIf(process.platform !== 'linux')('a mark of a process', () => {
  it('the mark of this process is alive', () => {
    expect(stateOfProcess(ownProcessMark() ?? '')).toBe('lives')
  })

  it('a mark is dead if the process ended, even if its number was reused', () => {
    const [place, pid, start] = own()
    expect(stateOfProcess(`${place} ${2 ** 22 + 1} ${start}`)).toBe('gone')
    expect(stateOfProcess(`${place} ${pid} 1${start}`)).toBe('gone')
  })

  it('the mark of a zombie process is dead', async () => {
    // The shell replaces itself with a program that does not wait for children.
    const script = 'sleep 2 & echo $!; exec sleep 30'
    const parent = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const stat = (): string => readFileSync(`/proc/${Number(line)}/stat`, 'utf8')
    const mark = `${own()[0]} ${Number(line)} ${stat().split(' ')[21]}`
    expect(stateOfProcess(mark)).toBe('lives')
    await expect.poll(stat, { timeout: 10_000 }).toContain(') Z ')
    expect(stateOfProcess(mark)).toBe('gone')
  })

  it.each(['', ' ', 'elsewhere 1 1', '{} 0 0'])(
    'a mark of another host or without one is unknown: %j',
    (mark) => {
      expect(stateOfProcess(mark)).toBe('unknown')
    },
  )

  it.each(['0', '-1', '1.5', '', 'self', '../self'])(
    'a mark with the process number %j is invalid',
    (pid) => {
      const [place, , start] = own()
      expect(stateOfProcess(`${place} ${pid} ${start}`)).toBe('unknown')
    },
  )
})
