import type { BridgeConfig } from '../../config/config.ts'
import type { HttpClient } from '../../http/http-client.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import type { Login } from '../../oauth/login/login.ts'
import type { CommandInput } from '../command.ts'
import { openConnectionLog, openLogin } from '../connect/connection-login.ts'

/** Opens the login of a command's server for `work`. */
export async function withLogin<Result>(
  config: BridgeConfig,
  { terminal, runtime }: CommandInput,
  work: (login: Login, http: HttpClient) => Promise<Result>,
): Promise<Result> {
  const log = await openConnectionLog(config)
  const http = createHttpClient(config.network)
  try {
    const announce = (line: string): void => terminal.note(line)
    const login = await openLogin(config, { http, runtime, announce, note: log?.note ?? (() => {}) })
    return await work(login, http)
  } finally {
    http.close()
  }
}
