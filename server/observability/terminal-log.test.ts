import { beforeEach, describe, expect, it } from 'vitest'
import { logEvents } from './log-event.ts'
import { createLog, reportTo } from './log.ts'
import { createTerminalLog } from './terminal-log.ts'

let text: string
let audit: string
beforeEach(() => {
  text = ''
  audit = ''
})

const log = () =>
  createLog(
    'debug',
    createTerminalLog({ write: (line) => void (text += line) }, (colour, said) => `<${colour}>${said}</>`),
    { audit: { write: (line) => void (audit += line) } },
  )
const uncoloured = (): string => text.replaceAll(/<\/?\w*>/g, '')

describe('the log of a terminal', () => {
  it('the log of a terminal is one line an event: local time, the event, the fields that say more', () => {
    const report = reportTo(log(), { request_id: 'r-1', address: '192.0.2.7' })
    report('signed_in', { client_id: 'mcpc_Zm9v', sub: 'ada' })
    report('sign_in_stranded', { reason: 'client_unknown' })
    const [first, second, ...rest] = uncoloured().split('\n')
    expect(first).toMatch(
      /^\d\d:\d\d:\d\d {2}A user signed in and allowed a client\. {2}client_id=mcpc_Zm9v sub=ada$/,
    )
    // The error page shows the request id.
    expect(second).toMatch(/shown an error page.* {2}request_id=r-1 reason=client_unknown$/)
    expect(rest).toEqual([''])
  })

  it('the log of a terminal leaves the audit trail JSON', () => {
    reportTo(log())('token_issued', { client_id: 'c' })
    expect(JSON.parse(audit)).toMatchObject({ event: 'token_issued', audit: true })
    expect(uncoloured()).toMatch(/^\d\d:\d\d:\d\d {2}A client received tokens\. {2}client_id=c\n$/)
  })

  it('the log of a terminal says the level in a word and a colour', () => {
    const report = reportTo(log())
    report('request_failed', { error: new Error('no disk') })
    report('provider_probe_failed')
    report('mcp_request', { credential: 'access_token' })
    expect(text).toMatch(/<red>error: An internal error; the client received 500\. no disk<\/>/)
    expect(text).toContain('<yellow>warning: ')
    expect(text).toContain('<dim>An authenticated caller')
    expect(uncoloured()).toMatch(/\n {10}at /)
  })

  it('the log of a terminal has no secret and no control character', () => {
    reportTo(log())('request_failed', {
      error: new Error('Bearer opaque-token-of-somebody \u001B[2J'),
      path: 'a\nb',
    })
    expect(text).not.toContain('opaque-token')
    expect(text).toContain('Bearer [redacted]')
    expect(text).not.toContain('\u001B')
    expect(text).toContain(String.raw`path=a\u000ab`)
  })

  it('the log of a terminal shows the next step below the line', () => {
    const fields = {
      client_id: 'https://chatgpt.com/codex.json',
      host: 'chatgpt.com',
      next_step: 'npm start -- --client-documents off',
    }
    reportTo(log())('client_document_unavailable', { ...fields, reason: 'unknown_host' })
    expect(uncoloured()).toMatch(
      /could not be fetched from chatgpt\.com\..*\n {10}-> npm start -- --client-documents off\n$/,
    )
  })

  it('the log of a terminal has a sentence for every event of the table', () => {
    const report = reportTo(log())
    for (const event of [...Object.keys(logEvents), 'something_new']) report(event)
    const isStep = (line: string): boolean => /^ {10}-> [A-Z].*\.$/.test(line)
    const written = uncoloured().trimEnd().split('\n')
    const lines = written.filter((line) => !isStep(line))
    expect(lines).toHaveLength(Object.keys(logEvents).length + 1)
    const steps = Object.values(logEvents).filter(({ nextStep }) => nextStep !== undefined)
    expect(written.filter(isStep)).toHaveLength(steps.length)
    for (const line of lines) expect(line).toMatch(/^\d\d:\d\d:\d\d {2}\S.*[.…`]/)
    expect(lines.at(-1)).toContain('something new.')
  })
})
