import { describe, expect, it } from 'vitest'
import { NetworkError } from '../../http/http-client.ts'
import { TransportError } from '../../transport/transport.ts'
import { CommandFailure } from '../failure/failure-text.ts'
import { failureTable } from '../failure/failure-table.ts'
import { failed } from './finding.ts'

const context = { serverUrl: 'https://mcp.example.com/a.b/mcp?c=d' }

describe('a failure as a finding of doctor', () => {
  it('a failure keeps its text and its exit code as a finding of doctor', () => {
    const message = 'mcp.example.com refused the connection.'
    const error = new NetworkError('refused', 'https://mcp.example.com', message, { sent: false })
    const fix = 'Start the server, or correct the port in the URL.'
    expect(failed(error, context)).toEqual({ state: 'fail', message, fix, exit: 4 })
    expect(failed(new TransportError('not_found', 'nothing'), context)).toMatchObject({
      fix: 'Check the path of the URL, often /mcp or /sse.',
      exit: 1,
    })
  })

  it.each(Object.entries(failureTable))(
    'doctor never advises running doctor, for %s',
    (_code, { nextStep }) => {
      const { fix } = failed(new CommandFailure('x', nextStep), context)
      expect(fix).not.toContain('drawbridge doctor')
      expect(fix).toMatch(/^(?:[A-Z].*\.|.*drawbridge .*|Give .*)$/)
    },
  )
})
