import { afterAll, beforeAll, beforeEach, describe, type TestContext } from 'vitest'
import { type ContractServer, openContractServer } from './contract-server.ts'
import type { Driver } from './driver.ts'
import { targets } from './target.ts'
import { type CaseFetch, createCaseFetch, createWire, type Wire } from './wire.ts'

/** What one case works with. Its requests come from one address of its own. */
export interface Stage {
  server: ContractServer
  driver: Driver
  /** Requests without a client, for what a client does not do. */
  wire: Wire
  send: CaseFetch
}

/** Makes a client for one case. */
export type MakeDriver = (server: ContractServer, send: CaseFetch) => Driver

/** The servers that a client is run with. */
export type ServerChoice = 'all' | 'first' | 'last'

const slices: Readonly<Record<ServerChoice, [start: number, end?: number]>> = {
  all: [0],
  first: [0, 1],
  last: [-1],
}

/** Declares `cases` for each of the servers, with a fresh driver for each case. */
export function describeOnServers(
  title: string,
  { servers, makeDriver }: { servers: ServerChoice; makeDriver: MakeDriver },
  cases: (stage: () => Stage) => void,
): void {
  describe.each(targets.slice(...slices[servers]))(`${title} at $name`, (target) => {
    let server: ContractServer
    let stage: Stage
    beforeAll(async () => {
      server = await openContractServer(target)
    })
    afterAll(async () => {
      await server?.close()
    })
    beforeEach(() => {
      const send = createCaseFetch()
      const wire = createWire(server.authUrl, server.apiKey, send)
      const driver = makeDriver(server, send)
      stage = { server: driver.judgesClaims ? withVerifier(server) : server, wire, send, driver }
    })
    cases(() => stage)
  })
}

/** Skips the case when something lacks, and says what. */
export function skipFor(context: TestContext, ...lacks: (string | undefined)[]): void {
  const reason = lacks.find((lack) => lack !== undefined)
  context.skip(reason !== undefined, reason)
}

/** The same server for a client that signs nobody in without verifying the token. */
function withVerifier(server: ContractServer): ContractServer {
  const { accounts, admin, social, verifier } = server.lacks
  const lacks = {
    accounts: accounts ?? verifier,
    admin: admin ?? verifier,
    social: social ?? verifier,
    verifier,
  }
  return { ...server, lacks }
}
