import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, it } from 'vitest'
import { createHostResolver } from './host-resolver.ts'

/** Record types of DNS (RFC 1035 section 3.2.2, RFC 3596 section 2.1). */
const [typeA, typeAaaa] = [1, 28]

const open: Socket[] = []
afterEach(async () => {
  for (const socket of open.splice(0)) await new Promise<void>((done) => socket.close(done))
})

/**
 * Starts a name server that answers queries of each type with those addresses, all others with "no such name", and does not answer
 * a type that is `undefined`. Returns its name for the resolver, and the queried names.
 */
async function startNameServer(records: Record<number, Buffer[] | undefined>) {
  const asked: string[] = []
  const socket = createSocket('udp4')
  open.push(socket)
  socket.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12)
    const type = query.readUInt16BE(end + 1)
    const labels = []
    for (let at = 12; at < end; at += 1 + (query[at] ?? 0)) {
      labels.push(query.subarray(at + 1, at + 1 + (query[at] ?? 0)).toString())
    }
    asked.push(`${labels.join('.')} ${type}`)
    if (type in records && records[type] === undefined) return
    const found = records[type] ?? []
    const head = Buffer.from([0x81, found.length === 0 ? 0x83 : 0x80, 0, 1, 0, found.length, 0, 0, 0, 0])
    const answers = found.map((data) =>
      Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]), data]),
    )
    const question = query.subarray(12, end + 5)
    socket.send(Buffer.concat([query.subarray(0, 2), head, question, ...answers]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { servers: [`127.0.0.1:${socket.address().port}`], asked }
}

const never = new AbortController().signal
const ipv6 = Buffer.from('26064700470000000000000000001111', 'hex')

it('the host resolver answers every address of both kinds', async () => {
  const { servers } = await startNameServer({
    [typeA]: [Buffer.from([8, 8, 8, 8]), Buffer.from([10, 0, 0, 1])],
    [typeAaaa]: [ipv6],
  })
  const addresses = await createHostResolver(servers)('client.example', never)
  expect([...addresses].sort()).toEqual(['10.0.0.1', '2606:4700:4700::1111', '8.8.8.8'])
})

it('the host resolver takes the kind there is, and answers nothing for a name without any', async () => {
  const onlyOne = await startNameServer({ [typeAaaa]: [ipv6] })
  expect(await createHostResolver(onlyOne.servers)('client.example', never)).toEqual(['2606:4700:4700::1111'])
  const none = await startNameServer({})
  expect(await createHostResolver(none.servers)('client.example', never)).toEqual([])
})

it('the host resolver queries the exact name, without search domains and the hosts file', async () => {
  const { servers, asked } = await startNameServer({})
  await createHostResolver(servers)('router', never)
  expect(await createHostResolver(servers)('localhost.localdomain', never)).toEqual([])
  expect(new Set(asked)).toEqual(
    new Set(['router 1', 'router 28', 'localhost.localdomain 1', 'localhost.localdomain 28']),
  )
})

it('the host resolver stops waiting for a silent name server by the signal', async () => {
  const { servers } = await startNameServer({ [typeA]: undefined, [typeAaaa]: undefined })
  const controller = new AbortController()
  const resolving = createHostResolver(servers)('client.example', controller.signal)
  setImmediate(() => controller.abort())
  expect(await resolving).toEqual([])
})
