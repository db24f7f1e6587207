import { chmodSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createCommandFixture, operate } from '../../../tests/support/server/command-fixture.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { operationCommands } from './operation-command.ts'
import { exitCode } from '../command.ts'

let audit: string
beforeEach(() => {
  audit = join(temporaryFolder(), 'audit.jsonl')
})

const line = (fields: object = {}): string =>
  `${JSON.stringify({
    time: new Date(start * 1000).toISOString(),
    sub: 'ada',
    client_id: 'one',
    tool: 'add_note',
    outcome: 'ok',
    duration_ms: 12.4,
    event: 'tool_called',
    ...fields,
  })}\n`

/** Writes the file as a server would at that time. */
function write(content: string): void {
  writeFileSync(audit, content)
  utimesSync(audit, start, start)
}

const command = (json: boolean, settings: Record<string, string> = { AUDIT: audit }) =>
  createCommandFixture(settings, { json, runtime: createFakeRuntime(start + 60) })

describe('usage', () => {
  it('usage prints a table, with texts of others made harmless and the number of skipped lines on stderr', async () => {
    write(
      `${line()}${line({ client_id: 'two', workspace: 'sales', outcome: 'refused_rule' })}` +
        line({ tool: 'made\u001b[2Jup', unlisted: true, client_id: undefined }) +
        `${line({ tool: 'x', unknown: true, outcome: 'failed' })}{"half":`,
    )
    const given = command(false)
    expect(await operate('usage', given)).toBe(exitCode.ok)
    const { stdout, stderr } = given.said()
    expect(stdout).toBe(
      [
        'tool             client_id  workspace  calls  refused  errors  people  p50_ms',
        'add_note         one        -          1      0        0       1       12.4',
        'made\\u001b[2Jup  -          -          1      0        0       1       12.4',
        '-                one        -          1      0        1       1       12.4',
        'add_note         two        sales      0      1        0       1       -',
        '',
      ].join('\n'),
    )
    expect(stderr).toBe('Skipped lines that are broken, or not of the audit trail: 1.\n')
  })

  it('usage --json prints an array, and its flags choose calls', async () => {
    write(`${line()}${line({ sub: 'bob' })}${line({ time: '2001-01-01T00:00:00.000Z' })}`)
    const given = command(true)
    const choice = { since: '1h', tool: 'add_note', user: 'bob', client: 'one' }
    expect(await operate('usage', given, choice)).toBe(exitCode.ok)
    const counts = { calls: 1, refused: 0, errors: 0, people: 1, p50_ms: 12.4 }
    expect(given.facts()).toEqual([{ tool: 'add_note', client_id: 'one', workspace: null, ...counts }])
    await operate('usage', given, { since: '59s' })
    expect(given.facts()).toEqual([])
  })

  it('usage prints "No calls." for an empty audit trail', async () => {
    write('')
    const given = command(false)
    expect(await operate('usage', given)).toBe(exitCode.ok)
    expect(given.said()).toEqual({ stdout: 'No calls.\n', stderr: '' })
  })

  it('usage reads an audit file that its user may not write', async () => {
    write(line())
    chmodSync(audit, 0o400)
    chmodSync(join(audit, '..'), 0o500)
    const given = command(true)
    expect(await operate('usage', given)).toBe(exitCode.ok)
    expect(given.facts()).toHaveLength(1)
    chmodSync(join(audit, '..'), 0o700)
  })

  it('usage beside no audit file, nor its folder, says that it cannot read it, and how to read another one', async () => {
    await expect(operate('usage', command(false, { AUDIT: join(audit, 'missing') }))).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(/^The file of AUDIT cannot be read: ENOENT: /),
      nextStep: 'A file of another user or machine: drawbridge-server usage - < FILE',
    })
  })

  it('the help of usage --json promises an array', () => {
    const row = operationCommands.find(({ usage }) => usage.startsWith('usage'))
    expect(row?.json).toBe('print one JSON array on stdout')
  })

  it('usage without AUDIT says what to set', async () => {
    await expect(operate('usage', command(false, {}))).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining('Set DRAWBRIDGE_AUDIT to a file'),
    })
  })

  it.each(['7', '0d', '-1d', '1w', '1.5h', '10000d', 'yesterday', ''])(
    'usage refuses --since %j, and says what it takes',
    async (since) => {
      await expect(operate('usage', command(false), { since })).rejects.toMatchObject({
        status: 400,
        message: '--since: expected a number and its unit, such as 12h or 7d.',
      })
    },
  )

  it('usage refuses an operand other than -', async () => {
    await expect(operate('usage', command(false), {}, { operands: [audit] })).rejects.toMatchObject({
      status: 400,
      message: 'usage [-]: expected -, or nothing for the file of AUDIT.',
    })
  })
})
