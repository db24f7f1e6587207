import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ownProcessIdentity, stateOfProcess } from './owner-process.ts'

const own = (): string[] => ownProcessIdentity()?.split(' ') ?? []

describe.skipIf(process.platform !== 'linux')('an identity of a process', () => {
  it('the identity of this process is alive', () => {
    expect(stateOfProcess(ownProcessIdentity() ?? '')).toBe('lives')
  })

  it('an identity is dead if the process ended, even if its number was reused', () => {
    const [place, pid, start] = own()
    expect(stateOfProcess(`${place} ${2 ** 22 + 1} ${start}`)).toBe('gone')
    expect(stateOfProcess(`${place} ${pid} 1${start}`)).toBe('gone')
  })

  it('the identity of a zombie process is dead', async () => {
    // The shell replaces itself with a program that does not wait for children.
    const script = 'sleep 2 & echo $!; exec sleep 30'
    const parent = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const stat = (): string => readFileSync(`/proc/${Number(line)}/stat`, 'utf8')
    const identity = `${own()[0]} ${Number(line)} ${stat().split(' ')[21]}`
    expect(stateOfProcess(identity)).toBe('lives')
    await expect.poll(stat, { timeout: 10_000 }).toContain(') Z ')
    expect(stateOfProcess(identity)).toBe('gone')
  })

  it.each(['', ' ', 'elsewhere 1 1', '{} 0 0'])(
    'an identity of another host or without one is unknown: %j',
    (identity) => {
      expect(stateOfProcess(identity)).toBe('unknown')
    },
  )

  it.each(['0', '-1', '1.5', '', 'self', '../self'])(
    'an identity with the process number %j is invalid',
    (pid) => {
      const [place, , start] = own()
      expect(stateOfProcess(`${place} ${pid} ${start}`)).toBe('unknown')
    },
  )
})
