import { randomUUID } from 'node:crypto'
import { codeOf, textOf, type Wire, type WireAnswer } from './wire.ts'

/** An account used only by this run. */
export interface ContractAccount {
  id: string
  email: string
  password: string
}

/** Creates the accounts of a server. Bans, unconfirmed addresses and deletion need its service key. */
export interface Accounts {
  /** Creates an account, by default confirmed, without a session. */
  create(options?: { confirmed?: boolean; banned?: boolean; email?: string }): Promise<ContractAccount>
  /** Returns an account shared by all cases that do not change it: passwords are slow by design. */
  shared(): Promise<ContractAccount>
  ban(id: string): Promise<void>
  delete(id: string): Promise<void>
  /** Deletes everything that this run has created, as far as the server permits. */
  clean(): Promise<void>
}

/** Returns an address that no server has an account for. */
export const newAddress = (): string => `contract-${randomUUID()}@example.com`

/** Uses the sign-up where that confirms at once, otherwise the operator's API. */
export function createAccounts({
  wire,
  serviceKey,
  canSignUp,
}: {
  wire: () => Wire
  serviceKey: string | undefined
  canSignUp: boolean
}): Accounts {
  async function asAdmin(method: string, path: string, body?: unknown): Promise<WireAnswer> {
    if (serviceKey === undefined) throw new Error('GOTRUE_SERVICE_KEY is not set.')
    const answer = await wire()(method, `/admin/users${path}`, {
      // A gateway may require it as the API key too.
      apiKey: serviceKey,
      bearer: serviceKey,
      ...(body !== undefined && { body }),
    })
    if (answer.status === 200) return answer
    throw new Error(`/admin/users refused ${method}: ${answer.status} ${String(codeOf(answer))}.`)
  }

  /** Returns undefined when the server rejects the address: some detect that it receives no mail. */
  async function signUp(email: string, password: string): Promise<string | undefined> {
    const ask = wire()
    const answer = await ask('POST', '/signup', { body: { email, password } })
    if (answer.status !== 200 && serviceKey !== undefined) return undefined
    const bearer = textOf(answer, 'access_token')
    const user = await ask('GET', '/user', { bearer })
    await ask('POST', '/logout?scope=global', { bearer })
    return textOf(user, 'id')
  }

  const made = new Set<string>()
  const noted = (account: ContractAccount): ContractAccount => {
    made.add(account.id)
    return account
  }

  let shared: Promise<ContractAccount> | undefined

  const accounts: Accounts = {
    async create({ confirmed = true, banned = false, email = newAddress() } = {}) {
      const password = `Drawbridge-${randomUUID()}`
      const signedUp = canSignUp && confirmed && !banned ? await signUp(email, password) : undefined
      if (signedUp !== undefined) return noted({ id: signedUp, email, password })
      const body = { email, password, email_confirm: confirmed, ...(banned && { ban_duration: '1h' }) }
      return noted({ id: textOf(await asAdmin('POST', '', body), 'id'), email, password })
    },
    shared: () => (shared ??= accounts.create()),
    async ban(id) {
      await asAdmin('PUT', `/${id}`, { ban_duration: '1h' })
    },
    async delete(id) {
      await asAdmin('DELETE', `/${id}`)
      made.delete(id)
    },
    async clean() {
      if (serviceKey === undefined) return
      for (const id of made) await asAdmin('DELETE', `/${id}`).catch(() => undefined)
    },
  }
  return accounts
}
