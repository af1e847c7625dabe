import type { IdentityOptions } from '../options.ts'
import type { OAuthClients } from '../oauth/clients.ts'
import type { MailFlows } from './mail-flows.ts'

/** What the routes of the embedded provider are set up with. */
export interface ProtocolOptions extends IdentityOptions { flows: MailFlows, clients: OAuthClients }
