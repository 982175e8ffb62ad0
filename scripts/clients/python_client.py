"""Uses the client of openapi-python-client."""
import sys

from identity import AuthenticatedClient, Client
from identity.api.authentication import login as log_in, reauthenticate
from identity.api.bulk_changes import change_users
from identity.api.roles import create_role
from identity.api.second_factors import complete_login
from identity.api.sessions import end_session, list_sessions
from identity.api.users import change_user, create_user, list_users
from identity.models import (
    ChangeFoundUsersRequest, ChangeUserRequest, CreateRoleRequest, CreateUserRequest, CreateUserRequestAttributes,
    FactorMethod, LoginRequest, ReauthenticateRequest, SecondFactorRequest, SessionEndReason, UserSort, UserType,
)
from identity.types import UNSET

url, login, password, suffix, factor_login, login_code, fresh_code, old_token = sys.argv[1:]
credentials = LoginRequest(login=login, password=password)
session = log_in.sync(client=Client(base_url=url), body=credentials)
client = AuthenticatedClient(base_url=url, token=session.access_token)

wanted = CreateUserRequest(
    user_type=UserType.CARRIER, carrier_id="python-client", name=f"pc-{suffix}", email=f"pc-{suffix}@example.com",
    phone="+4312345678", roles=["carrier_user"], allowed_ips=["203.0.113.0/24"],
    attributes=CreateUserRequestAttributes.from_dict({"tier": "gold"}),
)
created = create_user.sync(client=client, body=wanted)
wanted.name, wanted.email = f"pc2-{suffix}", f"pc2-{suffix}@example.com"
create_user.sync(client=client, body=wanted)

found, cursor = [], UNSET
while cursor is not None:
    # This generator repeats a parameter for each value. The service needs one parameter, with commas.
    carriers = [",".join(["python-client", "other"])]
    page = list_users.sync(
        client=client, carrier_id_in=carriers, per_page=1, cursor=cursor, order_by=UserSort.NAME
    )
    found += page.items
    cursor = page.next_cursor
assert len(found) == 2, found

changed = change_user.sync(user_id=created.user_id, client=client, body=ChangeUserRequest(locale="en"))
assert changed.locale == "en"
for field in ("roles", "allowed_ips", "attributes", "phone", "name", "email"):
    assert getattr(changed, field) == getattr(created, field), field
assert changed.roles and changed.allowed_ips

change = ChangeFoundUsersRequest(timezone="Europe/Vienna")
preview = change_users.sync(client=client, body=change, carrier_id="python-client", dry_run=True)
assert preview.kind == "preview", preview
result = change_users.sync(
    client=client, body=change, carrier_id="python-client", confirm_token=preview.confirm_token
)
assert result.kind == "result" and result.changed == 2, result

other = log_in.sync(client=Client(base_url=url), body=credentials).session_id
end_session.sync_detailed(session_id=other, client=client)
ended = list_sessions.sync(client=client, session_id=other).items[0]
assert ended.ended_reason == SessionEndReason.REVOKED, ended

problem = create_user.sync(client=client, body=wanted)
assert problem.code.endswith("_taken"), problem

anyone = Client(base_url=url)
required = log_in.sync(client=anyone, body=LoginRequest(login=factor_login, password=password))
assert required.code == "auth.second_factor_required", required
assert required.expires_in > 0 and FactorMethod.RECOVERY_CODE in required.factors, required
step = SecondFactorRequest(challenge=required.challenge, recovery_code=login_code)
assert complete_login.sync(client=anyone, body=step).access_token

old = AuthenticatedClient(base_url=url, token=old_token)
role = CreateRoleRequest(name=f"pc-{suffix}", user_types=[UserType.SYSTEM])
stale = create_role.sync_detailed(client=old, body=role)
assert stale.parsed.code == "auth.reauthentication_required", stale
assert 'max_age="300"' in stale.headers["WWW-Authenticate"], stale.headers
renewed = reauthenticate.sync(client=old, body=ReauthenticateRequest(recovery_code=fresh_code))
fresh = AuthenticatedClient(base_url=url, token=renewed.access_token)
assert create_role.sync(client=fresh, body=role).name == role.name
print("ok")
