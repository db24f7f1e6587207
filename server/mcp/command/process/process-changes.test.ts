import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { expect, it } from 'vitest'
import { ProcessConnection } from './process-connection.ts'
import { ProcessChanges } from './process-changes.ts'

it('asks again for a resource that the process refused to watch', async () => {
  const asked: string[] = []
  const connection: ProcessConnection = new ProcessConnection((message: JsonRpcMessage) => {
    if (!('method' in message) || !('id' in message)) return
    asked.push(message.method)
    connection.receive({ jsonrpc: '2.0', id: message.id, error: { code: -32_002, message: 'No.' } })
  }, undefined)
  const changes = new ProcessChanges()
  const offered = { resources: { subscribe: true } }
  changes.attach(
    {
      connection,
      era: 'legacy',
      revision: '2025-11-25',
      serverInfo: { name: 'refusing', version: '1' },
      presentation: { capabilities: offered },
      envelope: {},
    },
    offered,
  )
  for (const _ of ['first', 'second']) await expect(changes.watch('test://one')).rejects.toThrow('No.')
  expect(asked).toEqual(['resources/subscribe', 'resources/subscribe'])
})
