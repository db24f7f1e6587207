import { afterEach, expect, it } from 'vitest'
import {
  type CommandFixture,
  openCommand,
  upstreamSample,
} from '../../../tests/support/server/mcp/command-fixture.ts'

let open: CommandFixture[] = []
afterEach(async () => {
  await Promise.all(open.map((each) => each.close()))
  open = []
})
it.each(['legacy', 'modern', 'both'])('serves %s', async (era) => {
  const fixture = openCommand(upstreamSample(['--era', era]))
  open.push(fixture)
  const client = fixture.client()
  console.log(JSON.stringify(await client.call('echo', { value: 'a' })))
  console.log(
    JSON.stringify(await client.request2026('tools/call', { name: 'echo', arguments: { value: 'b' } })),
  )
  console.log(
    JSON.stringify(await client.request2026('tools/call', { name: 'nope', arguments: { value: 'b' } })),
  )
  console.log(JSON.stringify(await client.request2026('server/discover', {})))
  console.log(JSON.stringify(await client.request2026('resources/list', {})))
  const s = await client.open()
  console.log(JSON.stringify(s))
  console.log(JSON.stringify(fixture.reports))
  expect(fixture.endpoint.processCount()).toBe(1)
})
