/** What the remote has seen since it started, or since `resetCounters`. */
export interface RemoteCounters {
  /** By `METHOD /path`. */
  requests: Record<string, number>
  /** TCP connections to the MCP server. */
  connections: number
  /** JSON-RPC requests and notifications by method, of those that came past authorization. */
  methods: Record<string, number>
  /** Tool calls by their argument `key`, or by the tool's name without one. */
  calls: Record<string, number>
  /** Ids of requests that were cancelled, by notification or by hanging up, in order. */
  cancelled: (string | number)[]
  sessionsOpened: number
  /** Gauge: what is open now; not reset. */
  sessionsOpen: number
  /** Standing streams: GET, `/sse`, and `subscriptions/listen`. */
  streamsOpened: number
  /** Gauge. */
  streamsOpen: number
  deletes: number
  lastEventIds: string[]
  /** Answers to 401 by `/mcp`. */
  unauthorized: number
  /** Answers of 403 by `/mcp`. */
  forbidden: number
  /** Requests of `/authorize` and of the device page: a browser tab each. */
  tabs: number
  registrations: number
  codeGrants: number
  deviceGrants: number
  clientCredentialsGrants: number
  refreshesOk: number
  /** Answered with the same successor, within the grace. */
  refreshesReplayed: number
  /** Used again later: it ended the grant. */
  refreshesReused: number
  /** Of a grant that is gone, or not known at all. */
  refreshesRefused: number
  revocations: number
  /** Errors of `/token`, by code. */
  tokenErrors: Record<string, number>
}

/** All zero. */
export function createCounters(): RemoteCounters {
  return {
    requests: {},
    connections: 0,
    methods: {},
    calls: {},
    cancelled: [],
    sessionsOpened: 0,
    sessionsOpen: 0,
    streamsOpened: 0,
    streamsOpen: 0,
    deletes: 0,
    lastEventIds: [],
    unauthorized: 0,
    forbidden: 0,
    tabs: 0,
    registrations: 0,
    codeGrants: 0,
    deviceGrants: 0,
    clientCredentialsGrants: 0,
    refreshesOk: 0,
    refreshesReplayed: 0,
    refreshesReused: 0,
    refreshesRefused: 0,
    revocations: 0,
    tokenErrors: {},
  }
}

/** Adds one. */
export function count(table: Record<string, number>, name: string): void {
  table[name] = (table[name] ?? 0) + 1
}
