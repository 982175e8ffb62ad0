"""Uses the client of openapi-python-client."""
import sys

from identity import AuthenticatedClient, Client
from identity.api.authentication import login as log_in
from identity.api.bulk_changes import change_users
from identity.api.sessions import end_session, list_sessions
from identity.api.users import change_user, create_user, list_users
from identity.models import (
    ChangeFoundUsersRequest, ChangeUserRequest, CreateUserRequest, CreateUserRequestAttributes, LoginRequest,
    SessionEndReason, UserSort, UserType,
)
from identity.types import UNSET

url, login, password, suffix = sys.argv[1:]
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
        client=client, carrier_id_in=carriers, per_page=1, cursor=cursor, order_by=UserSort.USERS_BY_NAME
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
print("ok")
