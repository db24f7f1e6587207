import { afterAll, beforeAll, beforeEach, describe, type TestContext } from 'vitest'
import { type ContractServer, openContractServer } from './contract-server.ts'
import type { Driver } from './driver.ts'
import { targets } from './target.ts'
import { type CaseFetch, createCaseFetch, createWire, type Wire } from './wire.ts'

/** Tools of one case, whose requests come from a separate address. */
export interface Stage {
  server: ContractServer
  driver: Driver
  /** Requests without a client, for calls that clients do not make. */
  wire: Wire
  send: CaseFetch
}

/** Creates a client for one case. */
export type MakeDriver = (server: ContractServer, send: CaseFetch) => Driver

/** Selects the servers for a client. */
export type ServerChoice = 'all' | 'first' | 'last'

const slices: Readonly<Record<ServerChoice, [start: number, end?: number]>> = {
  all: [0],
  first: [0, 1],
  last: [-1],
}

/** Declares `cases` for each of the servers, with a new driver for each case. */
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

/** Skips the case when something is missing, and names it. */
export function skipFor(context: TestContext, ...lacks: (string | undefined)[]): void {
  const reason = lacks.find((lack) => lack !== undefined)
  context.skip(reason !== undefined, reason)
}

/** Wraps a server for a client that verifies the token of every sign-in. */
function withVerifier(server: ContractServer): ContractServer {
  const { accounts, admin, social, sso, verifier } = server.lacks
  const lacks = {
    accounts: accounts ?? verifier,
    admin: admin ?? verifier,
    social: social ?? verifier,
    sso,
    verifier,
  }
  return { ...server, lacks }
}
