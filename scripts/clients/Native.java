import identity.*;
import identity.api.*;
import identity.model.*;
import java.net.URI;
import java.util.*;

/** Uses the client of openapi-generator for Java, with the library `native`. */
public class Native {
  public static void main(String[] arguments) throws Exception {
    String suffix = arguments[3];
    var client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    var authentication = new AuthenticationApi(client);
    var credentials = loginAs(arguments[1], arguments[2]);
    String token = authentication.login(credentials).getAccessToken();
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));

    var users = new UsersApi(client);
    var wanted = new CreateUserRequest().userType(UserType.CARRIER).carrierId("java-native").name("jn-" + suffix)
        .email("jn-" + suffix + "@example.com").phone("+4312345678").roles(Set.of("carrier_user"))
        .allowedIps(Set.of("203.0.113.0/24")).attributes(Map.of("tier", "gold"));
    UserResponse created = users.createUser(wanted, null);
    users.createUser(wanted.name("jn2-" + suffix).email("jn2-" + suffix + "@example.com"), null);

    String cursor = null;
    int found = 0;
    do {
      UserListResponse page = users.listUsers(UsersApi.APIListUsersRequest.newBuilder()
          .carrierIdIn(List.of("java-native", "other")).perPage(1).cursor(cursor).orderBy(UserSort.NAME).build());
      found += page.getItems().size();
      cursor = page.getNextCursor();
    } while (cursor != null);
    check(found == 2, "listed " + found);

    UserResponse changed = users.changeUser(created.getUserId(), new ChangeUserRequest().locale("en"), null);
    check("en".equals(changed.getLocale()), "the locale is " + changed.getLocale());
    check(changed.getRoles().equals(created.getRoles()) && !changed.getRoles().isEmpty(), "the roles changed");
    check(changed.getAllowedIps().equals(created.getAllowedIps()) && !changed.getAllowedIps().isEmpty(), "the addresses changed");
    check(changed.getAttributes().equals(created.getAttributes()), "the attributes changed");
    check(changed.getPhone().equals(created.getPhone()), "the phone changed");

    var bulk = new BulkChangesApi(client);
    var change = new ChangeFoundUsersRequest().timezone("Europe/Vienna");
    var request = BulkChangesApi.APIChangeUsersRequest.newBuilder().changeFoundUsersRequest(change).carrierId("java-native");
    BulkPreviewResponse preview = bulk.changeUsers(request.dryRun(true).build()).getBulkPreviewResponse();
    BulkResultResponse result = bulk.changeUsers(request.dryRun(null).confirmToken(preview.getConfirmToken()).build())
        .getBulkResultResponse();
    check(result.getChanged() == 2, "bulk: changed " + result.getChanged());

    UUID other = authentication.login(credentials).getSessionId();
    var sessions = new SessionsApi(client);
    sessions.endSession(other);
    SessionListResponse ended = sessions.listSessions(SessionsApi.APIListSessionsRequest.newBuilder().sessionId(other).build());
    check(ended.getItems().get(0).getEndedReason() == SessionEndReason.REVOKED, "the session was not revoked");

    var overview = new StatisticsApi(client).getOverview();
    check(overview.getLogins().size() == 24 && !overview.getUsers().isEmpty(), "the overview is incomplete");
    var link = new ImportAndExportApi(client)
        .createExportLink(ImportAndExportApi.APICreateExportLinkRequest.newBuilder().carrierId("java-native").build());
    try (var export = URI.create(link.getUrl()).toURL().openStream()) {
      check(new String(export.readAllBytes()).contains(wanted.getEmail()), "the export is incomplete");
    }

    try {
      users.createUser(wanted, null);
      check(false, "created twice");
    } catch (ApiException error) {
      var problem = ApiClient.createDefaultObjectMapper().readValue(error.getResponseBody(), ProblemResponse.class);
      check(problem.getCode().endsWith("_taken"), "the code is " + problem.getCode());
    }
    secondFactor(arguments);
    System.out.println("ok");
  }

  /** Logs in with a second factor, and authenticates again in a session that is too old for a new role. */
  static void secondFactor(String[] arguments) throws Exception {
    var authentication = new AuthenticationApi(clientFor(arguments[0], null));
    try {
      authentication.login(loginAs(arguments[4], arguments[2]));
      check(false, "logged in with one factor");
    } catch (ApiException error) {
      var required = ApiClient.createDefaultObjectMapper()
          .readValue(error.getResponseBody(), LoginUnauthorizedProblem.class);
      check(required.getCode().toString().equals("auth.second_factor_required"), "the code is " + required.getCode());
      check(required.getExpiresIn() > 0 && required.getFactors().contains(FactorMethod.RECOVERY_CODE), "no recovery code");
      var step = new SecondFactorRequest().challenge(required.getChallenge()).recoveryCode(arguments[5]);
      new SecondFactorsApi(clientFor(arguments[0], null)).completeLogin(
          SecondFactorsApi.APICompleteLoginRequest.newBuilder().secondFactorRequest(step).build());
    }

    var old = clientFor(arguments[0], arguments[7]);
    var role = RolesApi.APICreateRoleRequest.newBuilder()
        .createRoleRequest(new CreateRoleRequest().name("jn-" + arguments[3]).userTypes(Set.of(UserType.SYSTEM))).build();
    try {
      new RolesApi(old).createRole(role);
      check(false, "created a role in an old session");
    } catch (ApiException error) {
      var problem = ApiClient.createDefaultObjectMapper().readValue(error.getResponseBody(), ProblemResponse.class);
      check(problem.getCode().equals("auth.reauthentication_required"), "the code is " + problem.getCode());
      String challenge = error.getResponseHeaders().firstValue("WWW-Authenticate").orElse("");
      check(challenge.contains("max_age=\"300\""), "the challenge is " + challenge);
    }
    var renewed = new AuthenticationApi(old).reauthenticate(new ReauthenticateRequest().recoveryCode(arguments[6]));
    new RolesApi(clientFor(arguments[0], renewed.getAccessToken())).createRole(role);
  }

  static AuthenticationApi.APILoginRequest loginAs(String login, String password) {
    return AuthenticationApi.APILoginRequest.newBuilder()
        .loginRequest(new LoginRequest().login(login).password(password)).build();
  }

  static ApiClient clientFor(String url, String token) {
    var client = new ApiClient();
    client.updateBaseUri(url);
    if (token != null) client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    return client;
  }

  static void check(boolean holds, String message) {
    if (!holds) throw new IllegalStateException(message);
  }
}
