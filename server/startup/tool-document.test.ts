import { toResponse } from '@drawbridge/shared/text-response.ts'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import {
  callerSample,
  callsSample,
  endpointConfigSample,
} from '../../tests/support/server/mcp/tool-fixture.ts'
import { createPlainEndpoint } from '../mcp/plain/plain-endpoint.ts'
import { createSdkEndpoint } from '../mcp/sdk/sdk-endpoint.ts'
import { loadToolModule, openToolModule } from './open-tool-module.ts'

const text = readFileSync(new URL('../../docs/tools.md', import.meta.url), 'utf8')
const blocks = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, source = '']) => source)

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

describe('docs/tools.md', () => {
  it('docs/tools.md has an example for each of its sections', () => {
    expect(blocks.length).toBeGreaterThanOrEqual(8)
  })

  it.each(blocks.map((source, index) => [index, source] as const))(
    'example %i of docs/tools.md is a module that works unchanged',
    async (index, source) => {
      const folder = temporaryFolder()
      writeFileSync(join(folder, `tools-${index}.mjs`), source)
      const module = await loadToolModule(`tools-${index}.mjs`, folder)
      const { definitions } = openToolModule(module, [], () => {})
      const createEndpoint = module.register ? createSdkEndpoint : createPlainEndpoint
      const endpoint = createEndpoint(endpointConfigSample(module, undefined, async () => Response.json([])))
      const send = async (message: object, headers: Record<string, string> = {}): Promise<unknown> => {
        const body = { jsonrpc: '2.0', id: 1, ...message }
        const request = new Request('https://mcp.example/mcp', {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: '*/*', ...headers },
        })
        return toResponse(await endpoint.handle(request, body, callerSample, callsSample())).json()
      }
      const { result } = (await send(
        { method: 'tools/list', params: { _meta: meta } },
        { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
      )) as { result: { tools: { name: string; inputSchema: { properties?: object } }[] } }
      const listed = definitions.map(({ listing }) => listing.name)
      expect(result.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(listed))
      for (const { name, inputSchema } of result.tools) {
        const properties = Object.keys(inputSchema.properties ?? {})
        const input = Object.fromEntries(properties.map((key) => [key, key === 'limit' ? 3 : 'a']))
        const answer = await send({ method: 'tools/call', params: { name, arguments: input } })
        expect(answer, name).toHaveProperty('result.content')
        // A test without a session has no client to ask.
        const isFailed = (answer as { result: { isError?: boolean } }).result.isError === true
        expect(isFailed, name).toBe(module.asksClient === true)
      }
      const stop = await module.start?.({ notify: endpoint.notify })
      await stop?.()
      await endpoint.close()
    },
  )
})
