import { knownSeconds } from '../../core/sign-in/device-cookie.ts'
import { createBindingCookie, type BindingCookie } from './csrf-cookie.ts'
import { createHostCookie, type HostCookie } from './host-cookie.ts'

const hourInSeconds = 3600

/** The cookies of the login flow. */
export interface LoginCookies {
  /** Ties pages to one browser. */
  binding: BindingCookie
  /** Holds the accounts that the browser has signed in to before. */
  known: HostCookie
  /** Holds the session of somebody who looks after their connections. */
  account: HostCookie
}

/** The {@link LoginCookies} for a base URL. */
export function createLoginCookies(baseUrl: string): LoginCookies {
  return {
    binding: createBindingCookie(baseUrl),
    known: createHostCookie(baseUrl, 'known', knownSeconds),
    account: createHostCookie(baseUrl, 'account', hourInSeconds),
  }
}
